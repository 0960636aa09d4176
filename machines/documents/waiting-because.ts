/** Why a queued run request has not reached a runner yet: a code for programs, a sentence for people. */
import { type Static, stringEnum, Type } from '../schema.ts'

/** In the order in which a person would have to remove them. */
const WAITING_CODES = [
  'passed_over',
  'provider_unavailable',
  'not_before',
  'project_archived',
  'lane_paused',
  'repository_busy',
  'label_limit',
  'not_approved',
  'runner_removed',
  'no_runner_registered',
  'no_runner_allowed',
  'no_runner_with_labels',
  'no_capable_engine',
  'no_runner_online',
  'all_busy',
  'limited',
  'draining',
  'next',
] as const

export const waitingBecause = Type.Object(
  {
    code: stringEnum(WAITING_CODES, { description: 'Why it is not with a runner yet.' }),
    detail: Type.String({ description: 'The same in words.' }),
  },
  {
    title: 'WaitingBecause',
    description:
      'Why a queued request waits. Shown to people, not to runners, in answers to creates, moves, reads and lists; computed by the running service, not stored.',
  },
)
export type WaitingBecause = Static<typeof waitingBecause>
