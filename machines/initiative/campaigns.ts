/** What an initiative tells the campaigns among its members: that they take part, what was found, and when it is over. */
import type { Finding } from '../documents/finding.ts'
import type { Member } from '../documents/member.ts'
import type { SendParams } from '../machine.ts'

function toCampaigns(members: readonly Member[], message: SendParams['message']): readonly SendParams[] {
  const campaigns = members.filter(({ kind }) => kind === 'campaign')
  return campaigns.map(({ ref }) => ({ to: { kind: 'campaign', id: ref }, message }))
}

/** From now on they tell it how their cycles settle. */
export function joined(initiative: string, members: readonly Member[]): readonly SendParams[] {
  return toCampaigns(members, { type: 'join_initiative', initiative })
}

/** Its steering is over. What they have seen they may still consume. */
export function left(initiative: string, members: readonly Member[]): readonly SendParams[] {
  return toCampaigns(members, { type: 'leave_initiative', initiative })
}

/** Their next formation sees it. */
export function shared({ finding_id, initiative, kind, text, refs, to }: Finding): readonly SendParams[] {
  return toCampaigns(to, { type: 'share_finding', finding: { finding_id, initiative, kind, text, refs } })
}
