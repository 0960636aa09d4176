/** SPEC sections 6.11 to 6.18 as facts: the second half of spec-table.ts, which says how it is read. */
export const laterSections = `
# 6.11 Gate orchestration
gate_resolution_completed | project | string | yes
gate_resolution_completed | workflow | string | yes | iterate maintain validate
gate_resolution_completed | gates | array | yes
gate_resolution_completed | gates[] | like @gate
gate_resolution_completed | actions | object | no
preflight_completed | project | string | yes
preflight_completed | workflow | string | yes
preflight_completed | all_passed | bool | yes
preflight_completed | required_passed | bool | yes
preflight_completed | results | array | yes
preflight_completed | results[].name | string | yes
preflight_completed | results[].command | string | yes
preflight_completed | results[].passed | bool | yes
preflight_completed | results[].required | bool | yes
preflight_completed | results[].output | string | yes
preflight_completed | results[].exit_code | integer | yes
preflight_completed | results[].duration_ms | count | no
preflight_completed | results[].fix_applied | bool | only results[].passed=true
preflight_completed | results[].logs | strings | no
execution_completed |
gate_verification_completed | like preflight_completed
gate_verification_completed | retry_count | count | yes
retry_requested | project | string | yes
retry_requested | workflow | string | yes
retry_requested | retry_count | count | yes
retry_requested | failure_context | string | yes
retry_requested | actions | object | no

# 6.12 Validation
validation_requested | project | string | yes
validation_completed | project | string | yes
validation_completed | success | bool | yes
validation_completed | results | array | yes
validation_completed | results[].name | string | yes
validation_completed | results[].passed | bool | yes
validation_completed | results[].required | bool | yes
validation_completed | results[].output | string | yes

# 6.13 Maintenance run lifecycle
maintenance_run_started | project | string | yes
maintenance_run_completed | total | count | yes
maintenance_run_completed | succeeded | count | yes
maintenance_run_completed | failed | count | yes
maintenance_run_completed | skipped | count | yes
maintenance_run_completed | projects | array | yes
maintenance_run_completed | projects[].name | string | yes
maintenance_run_completed | projects[].status | string | yes
maintenance_run_completed | projects[].duration_secs | number | yes

# 6.14 Dependency update policy
dependency_review_requested | policy | string | no | major
dependency_updates_classified | project | string | yes
dependency_updates_classified | phase | string | yes | before after review
dependency_updates_classified | workflow | string | only phase=before,after | maintain
dependency_updates_classified | success | bool | only phase=after
dependency_updates_classified | gates | array | also phase=before
dependency_updates_classified | gates[] | like @gate
dependency_updates_classified | actions | object | no
dependency_updates_classified | classification | object | yes
dependency_updates_classified | classification.outdated | array | yes
dependency_updates_classified | classification.outdated[].ecosystem | string | yes
dependency_updates_classified | classification.outdated[].manifest | string | yes
dependency_updates_classified | classification.outdated[].package | string | yes
dependency_updates_classified | classification.outdated[].current | string | yes
dependency_updates_classified | classification.outdated[].requirement | string or null | no
dependency_updates_classified | classification.outdated[].in_range | string or null | no
dependency_updates_classified | classification.outdated[].non_major | string or null | no
dependency_updates_classified | classification.outdated[].major | string or null | no
dependency_updates_classified | classification.outdated[].hold | object or null | no
dependency_updates_classified | classification.outdated[].hold.max | string | yes
dependency_updates_classified | classification.outdated[].hold.reason | string | yes
dependency_updates_classified | classification.outdated[].hold.expires | string or null | no
dependency_updates_classified | classification.outdated[].hold.newest_within | string or null | no
dependency_updates_classified | classification.outdated[].advisories | array | yes
dependency_updates_classified | classification.outdated[].advisories[].id | string | yes
dependency_updates_classified | classification.outdated[].advisories[].fix_version | string or null | no
dependency_updates_classified | classification.outdated[].advisories[].severity | string or null | no
dependency_updates_classified | classification.classified | strings | yes
dependency_updates_classified | classification.unclassified | array | yes
dependency_updates_classified | classification.unclassified[].scope | string | yes
dependency_updates_classified | classification.unclassified[].reason | string | yes
dependency_updates_classified | classification.lapsed_holds | array | yes
dependency_updates_classified | classification.lapsed_holds[].package | string | yes
dependency_updates_classified | classification.lapsed_holds[].max | string | yes
dependency_updates_classified | classification.lapsed_holds[].reason | string | yes
dependency_updates_classified | classification.lapsed_holds[].expired_on | string | yes
dependency_updates_classified | classification.holds_warning | string or null | no
dependency_updates_classified | classification.transitive_advisories | array | yes
dependency_updates_classified | classification.transitive_advisories[].ecosystem | string | yes
dependency_updates_classified | classification.transitive_advisories[].package | string | yes
dependency_updates_classified | classification.transitive_advisories[].version | string or null | no
dependency_updates_classified | classification.transitive_advisories[].advisory | string | yes
dependency_updates_classified | classification.advisory_source | string or null | no
dependency_updates_classified | brief | object | yes
dependency_updates_classified | brief.policy | string | yes | patch minor major
dependency_updates_classified | brief.policy_set | bool | yes
dependency_updates_classified | brief.apply | array | yes
dependency_updates_classified | brief.apply[] | like @upgrade
dependency_updates_classified | brief.held_by_policy | array | yes
dependency_updates_classified | brief.held_by_policy[] | like @held_upgrade
dependency_updates_classified | brief.held_by_hold | array | yes
dependency_updates_classified | brief.held_by_hold[] | like @held_upgrade
dependency_updates_classified | brief.majors | array | yes
dependency_updates_classified | brief.majors[] | like @upgrade
major_upgrades_planned | upgrades | array | yes
major_upgrades_planned | upgrades[].project | string | yes
major_upgrades_planned | upgrades[].ecosystem | string | yes
major_upgrades_planned | upgrades[].manifest | string | yes
major_upgrades_planned | upgrades[].package | string | yes
major_upgrades_planned | upgrades[].from | string | yes
major_upgrades_planned | upgrades[].to | string | yes
major_upgrades_planned | upgrades[].security | bool | yes
major_upgrades_planned | upgrades[].objective | string | yes
major_upgrades_planned | upgrades[].command | string | yes
major_upgrades_planned | upgrades[].status | string | yes | dispatch deduped overflow deferred proposed
major_upgrades_planned | upgrades[].reason | string | yes
major_upgrades_planned | per_project_cap | count | yes
major_upgrades_planned | per_night_cap | count | yes
major_upgrades_planned | dispatch_enabled | bool | yes
major_upgrades_planned | review | bool | yes
major_upgrades_planned | history_warning | string | no
major_upgrades_planned | project_trace_ids | object or null | no
major_upgrades_planned | skipped_projects | strings or null | no
major_upgrades_planned | total_duration_ms | count or null | no
major_upgrades_planned | root_event_id | string or null | no

# 6.16 Agent session lifecycle
agent_session_started | session_id | string | yes
agent_session_started | agent_type | string | yes
agent_session_started | project | string | yes
agent_session_started | working_dir | string | yes
agent_session_started | source_log_path | string | yes
agent_session_started | capability | string | yes | reasoning coding quick
agent_session_started | access | string | yes | read_only full
agent_session_started | started_at | timestamp | yes
agent_session_started | trace_id | string | yes
agent_session_ended | session_id | string | yes
agent_session_ended | status | string | yes | ok agent_failed unavailable interrupted
agent_session_ended | exit_code | integer | only status=ok,agent_failed,unavailable
agent_session_ended | ended_at | timestamp | yes
agent_session_ended | bytes_written | count | yes
agent_session_ended | error | string | with status=unavailable,interrupted
agent_session_ended | usage | object | only status=ok,agent_failed,unavailable
agent_session_ended | cost | object | only status=ok,agent_failed,unavailable

# 6.18 Initiatives and findings
initiative_advance_requested | initiative | string | yes
initiative_advance_requested | member | object | no
initiative_advance_requested | member | like @member
initiative_advance_requested | operator_origin | string | yes
initiative_advance_requested | trigger_id | string | yes
initiative_advance_requested | follow_up_of | object | no
initiative_advance_requested | follow_up_of | like @follow_up
initiative_steered | success | bool | yes
initiative_steered | outcome | string | yes | applied waited no_op skipped rejected stale failed
initiative_steered | error | string | with outcome=rejected,stale,failed
initiative_steered | initiative | string | yes
initiative_steered | steer_id | string | yes
initiative_steered | prompt | string | also outcome=applied,waited,no_op,skipped,rejected,stale
initiative_steered | decision | string | also outcome=applied,waited,no_op,rejected,stale | advance dispatch hold relay ask escalate stage done wait
initiative_steered | provider | string | no
initiative_steered | action | object | only outcome=applied
initiative_steered | reason | string | with outcome=waited,no_op,skipped
initiative_steered | eligible_members | array | no
initiative_steered | eligible_members[] | like @member
initiative_steered | follow_up_of | object | no
initiative_steered | follow_up_of | like @follow_up
initiative_action_requested | action_id | string | yes
initiative_action_requested | initiative | string | yes
initiative_action_requested | decision | string | yes | advance dispatch hold relay ask escalate stage done wait
initiative_action_requested | question | string | no
initiative_action_requested | options | strings | no
initiative_action_requested | provider | string | no
initiative_action_requested | context_fingerprint | string | no
initiative_owner_action_recorded | initiative | string | yes
initiative_owner_action_recorded | action_id | string | yes
initiative_owner_action_recorded | operator_origin | string | yes
initiative_owner_action_recorded | action | string | yes | hold milestone member_override
initiative_added | initiative | string | yes
initiative_added | outcome | string | yes
initiative_added | projects | strings | yes
initiative_added | intent_refs | strings | yes
initiative_added | members | array | yes
initiative_added | members[] | like @member
initiative_added | status | string | yes | active completed cancelled
initiative_added | authorized_by | string | yes
initiative_added | budget | object | yes
initiative_added | budget.max_assessments | count | no
initiative_added | budget.max_actions | count | no
initiative_added | reason | string | no
initiative_added | decision | string | no
initiative_added | applicable_members | array | no
initiative_added | applicable_members[] | like @member
initiative_decided | like initiative_added
initiative_completed | like initiative_added
initiative_cancelled | like initiative_added
finding_recorded | id | string | yes
finding_recorded | finding_id | string | yes
finding_recorded | initiative | string | yes
finding_recorded | from | object | yes
finding_recorded | from.kind | string | yes
finding_recorded | from.id | string | yes
finding_recorded | to | array | yes
finding_recorded | to[] | like @member
finding_recorded | kind | string | yes
finding_recorded | text | string | yes
finding_recorded | refs | strings | yes
finding_recorded | consumed_by | array | yes
finding_recorded | consumed_by[].member | object | no
finding_recorded | consumed_by[].member | like @member
finding_recorded | consumed_by[].work_item_id | string | no
finding_recorded | recorded_at | timestamp | yes
finding_recorded | audit | object | no
finding_recorded | audit.intent_ref | string | no
finding_recorded | audit.classification | string | no
finding_recorded | audit.project | string | no
finding_recorded | audit.checked_paths | strings | no
finding_recorded | audit.explanation | string | no
finding_consumed | initiative | string | yes
finding_consumed | finding_id | string | yes
finding_consumed | member | object | yes
finding_consumed | member | like @member
finding_consumed | work_item_id | string | yes
finding_consumed | finding | object | yes
finding_consumed | finding | like finding_recorded
`
