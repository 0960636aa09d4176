/** The registry of machine modules, by actor kind. */

import { agentSessionModule } from './agent-session.ts'
import { campaignModule } from './campaign.ts'
import { discoveryModule } from './discovery.ts'
import { engineCapabilityModule } from './engine-capability.ts'
import { engineRunModule } from './engine-run.ts'
import { compiledBriefModule } from './formation-brief/compiled.ts'
import { formationBriefModule } from './formation-brief.ts'
import { hypothesisModule } from './hypothesis.ts'
import { initiativeModule } from './initiative.ts'
import { intentRecordModule } from './intent-record.ts'
import type { ActorKind, MachineModule } from './machine.ts'
import { maintenanceRunModule } from './maintenance-run.ts'
import { pacingModule } from './pacing.ts'
import { projectModule } from './project.ts'
import { runRequestModule } from './run-request.ts'
import { runnerModule } from './runner.ts'
import { sentinelModule } from './sentinel.ts'
import { tokenModule } from './token.ts'
import { usageModule } from './usage.ts'
import { workItemModule } from './work-item.ts'

export const modules: Readonly<Record<ActorKind, MachineModule>> = {
  project: projectModule,
  runner: runnerModule,
  run_request: runRequestModule,
  engine_run: engineRunModule,
  intent_record: intentRecordModule,
  hypothesis: hypothesisModule,
  discovery: discoveryModule,
  formation_brief: formationBriefModule,
  compiled_brief: compiledBriefModule,
  engine_capability: engineCapabilityModule,
  token: tokenModule,
  work_item: workItemModule,
  campaign: campaignModule,
  pacing: pacingModule,
  initiative: initiativeModule,
  agent_session: agentSessionModule,
  maintenance_run: maintenanceRunModule,
  usage: usageModule,
  sentinel: sentinelModule,
}
