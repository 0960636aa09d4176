/** All kinds of things that the console shows, by the first part of their pages' addresses. */
import { campaigns, initiatives } from './kinds/campaigns.tsx'
import type { Kind } from './kinds/kind.tsx'
import { briefs, discoveries, hypotheses, intent, projects } from './kinds/meaning.tsx'
import { sentinels } from './kinds/sentinels.tsx'
import { items, runners, runs, sessions } from './kinds/work.tsx'

export const KINDS: Readonly<Record<string, Kind>> = {
  items,
  runs,
  runners,
  campaigns,
  initiatives,
  sentinels,
  sessions,
  briefs,
  intent,
  hypotheses,
  discoveries,
  projects,
}
