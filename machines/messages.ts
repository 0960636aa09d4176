/**
 * The messages that each kind takes, whoever sends them: the compiler checks what one machine sends to another. Types
 * only, so that the kinds need not import each other.
 */
import type { AgentSessionBody } from './agent-session/context.ts'
import type { CampaignBody } from './campaign/context.ts'
import type { DiscoveryBody } from './discovery.ts'
import type { EngineCapabilityMessageBody } from './engine-capability.ts'
import type { EngineRunBody } from './engine-run.ts'
import type { CompiledBriefBody } from './formation-brief/compiled.ts'
import type { FormationBriefBody } from './formation-brief/context.ts'
import type { HypothesisBody } from './hypothesis/context.ts'
import type { InitiativeBody } from './initiative/context.ts'
import type { IntentRecordBody } from './intent-record/context.ts'
import type { MaintenanceRunBody } from './maintenance-run.ts'
import type { PacingBody } from './pacing.ts'
import type { ProjectBody } from './project.ts'
import type { RunRequestBody } from './run-request/context.ts'
import type { RunnerBody } from './runner/context.ts'
import type { SentinelBody } from './sentinel/context.ts'
import type { TokenBody } from './token.ts'
import type { UsageBody } from './usage.ts'
import type { WorkItemBody } from './work-item/context.ts'

export interface Messages {
  project: ProjectBody
  runner: RunnerBody
  run_request: RunRequestBody
  engine_run: EngineRunBody
  intent_record: IntentRecordBody
  hypothesis: HypothesisBody
  discovery: DiscoveryBody
  formation_brief: FormationBriefBody
  compiled_brief: CompiledBriefBody
  engine_capability: EngineCapabilityMessageBody
  token: TokenBody
  work_item: WorkItemBody
  campaign: CampaignBody
  pacing: PacingBody
  initiative: InitiativeBody
  agent_session: AgentSessionBody
  maintenance_run: MaintenanceRunBody
  usage: UsageBody
  sentinel: SentinelBody
}
