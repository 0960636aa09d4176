/**
 * SPEC section 6 as facts: each event type with each field of its payload. Written by hand from the
 * specification, never from the catalogue, so that the two can be held against each other.
 *
 * A line is `type | field | JSON type | required | allowed values`. A field is a path (`results[].name`).
 * Required: `yes`, `no`, `with FIELD=VALUES` (there with these values, and never else), `only FIELD=VALUES` (may be
 * there with these values, and never else), `also FIELD=VALUES` (must be there with these, may be with others).
 * `count` is a whole number from 0, `timestamp` a string in RFC 3339. `type |` alone has an open payload.
 * `like TYPE` stands for every field of another type, or of a group of members (`@`). Members of nested objects whose types the
 * specification leaves open are listed as the producing engines write them.
 */
import { laterSections } from './spec-table-later.ts'

const earlierSections = `
# Members that several types share
@quoted_gate | name | string | no
@quoted_gate | command | string | no
@quoted_gate | passed | bool | no
@quoted_gate | required | bool | no
@quoted_gate | output | string | no
@quoted_gate | exit_code | integer | no
@quoted_gate | duration_ms | count | no
@quoted_gate | fix_applied | bool | no
@quoted_gate | logs | strings | no
@gate | name | string | yes
@gate | command | string | yes
@gate | required | bool | yes
@gate | timeout_secs | number | yes
@upgrade | ecosystem | string | yes
@upgrade | manifest | string | yes
@upgrade | package | string | yes
@upgrade | from | string | yes
@upgrade | to | string | yes
@upgrade | class | string | yes | patch minor major
@upgrade | change | string | yes | lockfile manifest
@upgrade | security | bool or null | no
@upgrade | beyond_policy | bool | yes
@upgrade | beyond_hold | bool | yes
@held_upgrade | ecosystem | string | yes
@held_upgrade | manifest | string | yes
@held_upgrade | package | string | yes
@held_upgrade | from | string | yes
@held_upgrade | to | string | yes
@held_upgrade | class | string | yes | patch minor major
@held_upgrade | reason | string | yes
@member | kind | string | yes | campaign work_item project
@member | ref | string | yes
@follow_up | steer_id | string | yes
@follow_up | step | string | yes | advance dispatch hold relay ask escalate stage done wait

# 6.2 Greeting
greet_requested | name | string | yes
greeting_composed | greeting | string | yes
greeting_delivered |

# 6.3 Vulnerability remediation
scan_requested |
vulnerability_detected | cve | string | yes
vulnerability_detected | vulnerable | bool | yes
vulnerability_detected | dirty | bool | no
release_tag_audited | cve | string | yes
release_tag_audited | vulnerable | bool | yes
release_tag_audited | dirty | bool | no
main_branch_audited | cve | string | yes
main_branch_audited | dirty | bool | yes
remediation_started |
remediation_completed | cve | string | yes
remediation_completed | success | bool | yes

# 6.4 Release lifecycle
release_requested |
release_completed | cve | string | yes
release_completed | release | string | yes
release_completed | new_tag | string or null | yes
release_completed | success | bool | yes
release_pipeline_completed | status | string | yes | success failure
release_pipeline_completed | conclusion | string | no

# 6.5 Project lifecycle
project_validation_completed | status | string | yes | ok error skipped
project_validation_completed | reason | string | no
project_validation_completed | has_gates | bool | only status=ok
project_validation_completed | fast_forwarded | count | only status=ok
project_validation_completed | sync_failure | string | no | dirty_tree diverged remote_unavailable
project_validation_completed | dry_run | bool | no
project_iteration_completed | project | string | yes
project_iteration_completed | workflow | string | yes | iterate
project_iteration_completed | success | bool | yes
project_iteration_completed | summary | string | yes
project_iteration_completed | changes | bool | no
project_maintenance_completed | project | string | yes
project_maintenance_completed | workflow | string | yes | maintain
project_maintenance_completed | success | bool | yes
project_maintenance_completed | summary | string | yes
project_maintenance_completed | changes | bool | no
project_changes_committed | cve | string | yes
project_changes_committed | message | string | yes
project_changes_committed | push_failure | string | no | push_rejected_diverged remote_unavailable
project_changes_pushed | cve | string | yes

# 6.6 Local install and maintenance triggers
local_install_completed |
iteration_requested | project | string | yes
maintenance_requested | project | string | yes

# 6.7 Task lifecycle
task_run_started | project | string | no
task_run_started | objective | string | no
task_run_started | campaign | string | no
task_run_started | campaign_cycle | count | no
task_reviewed | project | string | no
task_reviewed | objective | string | no
task_reviewed | review | string | no
task_reviewed | gate_results | array | no
task_reviewed | gate_results[] | like @quoted_gate
task_reviewed | verdict | string | no | complete remainder defect blocked_on_decision runner_error
task_reviewed | campaign | string | no
task_reviewed | campaign_cycle | count | no
task_reviewed | gaps | strings | with verdict=remainder
task_reviewed | diagnosis | string | with verdict=defect
task_reviewed | finding | string | with verdict=blocked_on_decision
task_reviewed | options | strings | with verdict=blocked_on_decision
task_reviewed | detail | string | with verdict=runner_error
task_run_completed | project | string | yes
task_run_completed | success | bool | yes
task_run_completed | landed | bool | yes
task_run_completed | summary | string | yes
task_run_completed | verdict | string | yes | complete remainder defect blocked_on_decision runner_error
task_run_completed | preservation_ref | string | no
task_run_completed | land_blocked | string | no | trunk_moved_conflict trunk_moved_gates_failed stale_base_conflict stale_base_gates_failed trunk_moved_repeatedly checkout_not_ready git_failed continuation_conflict
task_run_completed | trunk_arrivals | array | no
task_run_completed | trunk_arrivals[].commit | string | yes
task_run_completed | trunk_arrivals[].subject | string | yes
task_run_completed | workspace_base | object | no
task_run_completed | workspace_base.commit | string | yes
task_run_completed | workspace_base.trunk | string | yes
task_run_completed | campaign | string | no
task_run_completed | campaign_cycle | count | no
task_run_completed | gaps | strings | with verdict=remainder
task_run_completed | diagnosis | string | with verdict=defect
task_run_completed | finding | string | with verdict=blocked_on_decision
task_run_completed | options | strings | with verdict=blocked_on_decision
task_run_completed | detail | string | with verdict=runner_error

# 6.8 Campaign formation
campaign_advance_requested | campaign | string | yes
campaign_advance_requested | run_event_id | string | no
campaign_advance_requested | run_result | object | no
campaign_advance_requested | run_result | like task_run_completed
campaign_advance_completed | campaign | string | yes
campaign_advance_completed | project | string | yes
campaign_advance_completed | cycles_completed | count | yes
campaign_advance_completed | cycles_landed | count | yes
campaign_advance_completed | success | bool | yes
campaign_advance_completed | decision | string | yes | done advance escalate stood_down
campaign_advance_completed | campaign_status | string | with decision=stood_down | paused cancelled completed escalated
campaign_advance_completed | objective | string | with decision=advance
campaign_advance_completed | reason | string | yes
campaign_advance_completed | prompt | string | no
campaign_advance_completed | agent_provider | string | no
campaign_advance_completed | gate_results | array | yes
campaign_advance_completed | gate_results[] | like @quoted_gate
campaign_paused | campaign | string | no
campaign_paused | project | string | no
campaign_paused | reason | string | no
campaign_paused | cycles_completed | count | no
campaign_paused | cycles_landed | count | no
campaign_escalated | campaign | string | yes
campaign_escalated | project | string | yes
campaign_escalated | reason | string | yes
campaign_escalated | cycles_completed | count | yes
campaign_escalated | cycles_landed | count | yes
campaign_completed | like campaign_escalated
campaign_cancelled | like campaign_escalated
campaign_cancelled | terminated_now | bool | yes
campaign_cancelled | discard_work | bool | yes
campaign_cancelled | aborted_event_id | string | only terminated_now=true
campaign_cancelled | aborted_trace_id | string | only terminated_now=true

# 6.9 Work-item ledger
work_item_submitted | item_id | string | yes
work_item_submitted | project | string | yes
work_item_submitted | objective | string | yes
work_item_submitted | kind | string | yes | task campaign_cycle maintenance major_upgrade release remediation
work_item_submitted | lane | string | yes | interactive campaign maintenance
work_item_submitted | state | string | yes | submitted queued held running landed preserved needs_decision failed cancelled
work_item_submitted | reason | string | yes
work_item_submitted | origin | string | yes
work_item_submitted | depends_on | strings | no
work_item_submitted | not_before | timestamp | no
work_item_submitted | operator_action | object | no
work_item_submitted | operator_action.command | string | yes | close cancel resume hold release
work_item_submitted | operator_action.origin | string | yes
work_item_submitted | operator_action.previous_state | string | yes | submitted queued held running landed preserved needs_decision failed cancelled
work_item_submitted | operator_action.previous_reason | string | yes
work_item_submitted | operator_action.previous_settled_at | timestamp | no
work_item_started | like work_item_submitted
work_item_held | like work_item_submitted
work_item_released | like work_item_submitted
work_item_settled | like work_item_submitted
work_item_settled | disposition | object | only state=landed,preserved,needs_decision,failed,cancelled
work_item_settled | disposition.verdict | string | no
work_item_settled | disposition.landed_commit | string | no
work_item_settled | disposition.preservation_ref | string | no
work_item_settled | disposition.worktree | string | no
work_item_settled | disposition.worktree_removed | bool | no
work_item_cancelled | like work_item_settled

# 6.10 Pacing
pacing_paused | lanes | strings | yes | interactive campaign maintenance
pacing_paused | paused | strings | yes | interactive campaign maintenance
pacing_paused | operator_origin | string | yes
pacing_resumed | like pacing_paused
`

export const specTable = earlierSections + laterSections
