/** The one list of routes, from which the router, the access check, the API documents and the access table are made. */
import { withOrigin } from './origin.ts'
import type { Route, ServiceContext } from './route.ts'
import { agentSessionRoutes } from './routes/agent-sessions.ts'
import { attentionRoutes } from './routes/attention.ts'
import { backupRoutes } from './routes/backups.ts'
import { briefMoveRoutes } from './routes/brief-moves.ts'
import { campaignMoveRoutes } from './routes/campaign-moves.ts'
import { campaignRoutes } from './routes/campaigns.ts'
import { consoleRoutes } from './routes/console.ts'
import { discoveryRoutes } from './routes/discoveries.ts'
import { driftRoutes } from './routes/drift.ts'
import { emitRoutes } from './routes/emit.ts'
import { engineCapabilityRoutes } from './routes/engine-capabilities.ts'
import { engineRunRoutes } from './routes/engine-runs.ts'
import { eventRoutes } from './routes/events.ts'
import { formationBriefRoutes } from './routes/formation-briefs.ts'
import { hypothesisRoutes } from './routes/hypotheses.ts'
import { ingestRoutes } from './routes/ingest.ts'
import { initiativeMoveRoutes } from './routes/initiative-moves.ts'
import { initiativeRoutes } from './routes/initiatives.ts'
import { intentCheckRoutes } from './routes/intent-check.ts'
import { intentMoveRoutes } from './routes/intent-moves.ts'
import { intentRecordRoutes } from './routes/intent-records.ts'
import { pacingRoutes } from './routes/pacing.ts'
import { pollRoutes } from './routes/polls.ts'
import { projectRoutes } from './routes/projects.ts'
import { runPostRoutes } from './routes/run-posts.ts'
import { runRequestRoutes } from './routes/run-requests.ts'
import { runnerRoutes } from './routes/runners.ts'
import { sentinelRoutes } from './routes/sentinels.ts'
import { type About, serviceRoutes } from './routes/service.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { traceRoutes } from './routes/traces.ts'
import { watchRoutes } from './routes/watch.ts'
import { workItemMoveRoutes } from './routes/work-item-moves.ts'
import { workItemRoutes } from './routes/work-items.ts'

export function allRoutes(service: ServiceContext, about: Omit<About, 'routes'>): readonly Route[] {
  const routes: Route[] = []
  const listed = [
    ...projectRoutes(service),
    ...intentRecordRoutes(service),
    ...intentMoveRoutes(service),
    ...intentCheckRoutes(service),
    ...discoveryRoutes(service),
    ...hypothesisRoutes(service),
    ...driftRoutes(service),
    ...formationBriefRoutes(service),
    ...briefMoveRoutes(service),
    ...engineCapabilityRoutes(service),
    ...runRequestRoutes(service),
    ...workItemRoutes(service),
    ...workItemMoveRoutes(service),
    ...initiativeRoutes(service),
    ...initiativeMoveRoutes(service),
    ...pacingRoutes(service),
    ...campaignRoutes(service),
    ...campaignMoveRoutes(service),
    ...sentinelRoutes(service),
    ...pollRoutes(service),
    ...runPostRoutes(service),
    ...engineRunRoutes(service),
    ...agentSessionRoutes(service),
    ...runnerRoutes(service),
    ...emitRoutes(service),
    ...eventRoutes(service),
    ...traceRoutes(service),
    ...ingestRoutes(service),
    ...watchRoutes(service),
    ...attentionRoutes(service),
    ...tokenRoutes(service),
    ...backupRoutes(service),
    ...consoleRoutes(),
    ...serviceRoutes(service, { ...about, routes: () => routes }),
  ]
  routes.push(...listed.map(withOrigin))
  return routes
}
