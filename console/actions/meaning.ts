/** What can be done about what a project means: briefs, hypotheses, intent records and their drift. */
import type { Document } from '../document.ts'
import { type Action, inState, reason, whyRequired } from './action.ts'

const brief = (move: string) => (of: Document) => `api/formation-briefs/${of.id}/${move}`

export const BRIEF_ACTIONS: readonly Action[] = [
  {
    label: 'Submit for review',
    explains: 'It is ready to be reviewed.',
    needs: ['intent.write'],
    isOffered: inState('draft'),
    path: brief('submit'),
    isOfVersion: true,
  },
  {
    label: 'Approve',
    explains: 'Runs may follow it as it reads now. From then on it cannot be changed.',
    needs: ['approve.dry_run', 'approve.full'],
    isOneEnough: true,
    isOffered: (of) => !['draft', 'archived'].includes(of.state),
    path: brief('approve'),
    isOfVersion: true,
    fields: [
      {
        name: 'throttle',
        label: 'What runs may do',
        type: 'choice',
        choices: ['dry_run', 'full'],
        isRequired: true,
        initial: () => 'dry_run',
        hint: 'dry_run only simulates; full makes changes.',
      },
    ],
  },
  {
    label: 'Compile prompts',
    explains: 'Its prompts are made, pinned to what they are made from.',
    needs: ['brief.compile'],
    isOffered: inState('approved'),
    path: brief('compile-prompts'),
  },
  {
    label: 'Archive',
    explains: 'It is not used any more.',
    needs: ['intent.write'],
    isOffered: (of) => !['archived', 'queued', 'accepted', 'executing'].includes(of.state),
    path: brief('archive'),
    fields: [reason],
    isGrave: true,
  },
]

const hypothesis = (move: string) => (of: Document) => `api/hypotheses/${of.id}/${move}`

export const HYPOTHESIS_ACTIONS: readonly Action[] = [
  {
    label: 'Accept',
    explains: 'It becomes an intent record of the project.',
    needs: ['intent.accept'],
    isOffered: inState('open'),
    path: hypothesis('accept'),
    fields: [reason],
  },
  {
    label: 'Reject',
    explains: 'It is not what the project intends.',
    needs: ['intent.accept'],
    isOffered: inState('open'),
    path: hypothesis('reject'),
    fields: [whyRequired],
    isGrave: true,
  },
]

const record = (move: string) => (of: Document) => `api/intent-records/${of.id}/${move}`

export const RECORD_ACTIONS: readonly Action[] = [
  {
    label: 'Accept',
    explains: 'It is what the project intends.',
    needs: ['intent.accept'],
    isOffered: inState('hypothesized', 'proposed'),
    path: record('accept'),
    isOfVersion: true,
    fields: [reason],
  },
  {
    label: 'Activate',
    explains: 'It guides runs from now on.',
    needs: ['intent.accept'],
    isOffered: inState('accepted'),
    path: record('activate'),
    isOfVersion: true,
    fields: [reason],
  },
  {
    label: 'Deprecate',
    explains: 'It guides nothing any more.',
    needs: ['intent.accept'],
    isOffered: inState('accepted', 'active'),
    path: record('deprecate'),
    isOfVersion: true,
    fields: [reason],
    isGrave: true,
  },
]

export const DRIFT_ACTIONS: readonly Action[] = [
  {
    label: 'Classify',
    explains: 'Say what the drift is, so that it does not ask again.',
    needs: ['drift.classify'],
    isOffered: ({ status }) => status !== 'holding' && status !== 'unobserved',
    path: ({ project, intent_record: { id } }) => `api/projects/${encodeURIComponent(project)}/drift/${id}/classify`,
    fields: [
      {
        name: 'classification',
        label: 'It is',
        type: 'choice',
        choices: ['real', 'allowed_exception', 'obsolete_intent', 'none'],
        isRequired: true,
        hint: 'real: the code is wrong. obsolete_intent: the record is. none takes a classification back.',
      },
      { name: 'reason', label: 'Why', type: 'long', hint: 'Needed for an exception.' },
      { name: 'review_at', label: 'Review it at', type: 'time', hint: 'Needed for an exception.' },
    ],
  },
]
