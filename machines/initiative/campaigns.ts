/** What an initiative tells its member campaigns: that they are members, what was found, when its steering is over. */
import type { Finding } from '../documents/finding.ts'
import type { Member } from '../documents/member.ts'
import type { SendParams } from '../machine.ts'
import type { Messages } from '../messages.ts'

function toCampaigns(members: readonly Member[], message: Messages['campaign']): readonly SendParams[] {
  const campaigns = members.filter(({ kind }) => kind === 'campaign')
  return campaigns.map(({ ref }) => ({ to: { kind: 'campaign', id: ref }, message }))
}

/** From now on these campaigns report how their cycles settle. */
export function joined(initiative: string, members: readonly Member[]): readonly SendParams[] {
  return toCampaigns(members, { type: 'join_initiative', initiative })
}

/** Steering is over. The campaigns' cycles may still consume the findings they were shown. */
export function left(initiative: string, members: readonly Member[]): readonly SendParams[] {
  return toCampaigns(members, { type: 'leave_initiative', initiative })
}

/** Shows the finding to the next formation of each campaign it is addressed to. */
export function shared({ finding_id, initiative, kind, text, refs, to }: Finding): readonly SendParams[] {
  return toCampaigns(to, { type: 'share_finding', finding: { finding_id, initiative, kind, text, refs } })
}
