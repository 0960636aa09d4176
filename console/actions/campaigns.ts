/** What owners can do about campaigns and initiatives. */
import type { Document } from '../document.ts'
import { beginningOf, readable } from '../words.ts'
import { type Action, type Choice, discard, inState, reason, whyRequired } from './action.ts'

const campaign = (move: string) => (of: Document) => `api/campaigns/${encodeURIComponent(of.name)}/${move}`
const unfinished = inState('staged', 'active', 'paused', 'escalated')

export const CAMPAIGN_ACTIONS: readonly Action[] = [
  {
    label: 'Advance',
    explains: 'Its next step is formed now.',
    needs: ['work.operate'],
    isOffered: (of) => ['staged', 'active'].includes(of.status) && of.stage === 'idle',
    path: campaign('advance'),
  },
  {
    label: 'Decide',
    explains: 'The decision binds all that follows, and the campaign goes on.',
    needs: ['work.operate'],
    isOffered: inState('escalated', 'active', 'staged'),
    path: campaign('decide'),
    fields: [{ name: 'decision', label: 'The decision', type: 'long', isRequired: true }],
  },
  {
    label: 'Pause',
    explains: 'Nothing new is started; what is running finishes.',
    needs: ['work.operate'],
    isOffered: inState('active', 'staged'),
    path: campaign('pause'),
    fields: [reason],
  },
  {
    label: 'Resume',
    explains: 'It goes on.',
    needs: ['work.operate'],
    isOffered: inState('paused', 'escalated'),
    path: campaign('resume'),
    fields: [
      { name: 'add_cycles', label: 'Add cycles', type: 'number', hint: 'Needed if its budget is used up.' },
      { name: 'from_trunk', label: 'Start from trunk', type: 'check', hint: 'Kept work is not built upon.' },
    ],
  },
  {
    label: 'Complete',
    explains: 'Its mission is reached, and it ends.',
    needs: ['work.operate'],
    isOffered: unfinished,
    path: campaign('complete'),
    fields: [{ ...whyRequired, label: 'What shows that it is complete' }],
    isGrave: true,
  },
  {
    label: 'Cancel',
    explains: 'It ends. Its running cycle finishes, unless it is stopped now.',
    needs: ['work.operate'],
    isOffered: inState('staged', 'active', 'paused', 'escalated', 'cancelling'),
    path: campaign('cancel'),
    fields: [whyRequired, { name: 'now', label: 'Stop its running cycle now', type: 'check' }, discard],
    isGrave: true,
  },
]

const initiative = (move: string) => (of: Document) => `api/initiatives/${encodeURIComponent(of.name)}/${move}`

/** An open question: `shop: Which bank? (Spar / Post)`. */
function asChoice({ id, text, member, options = [] }: Document): Choice {
  const asked = [member?.ref, text].filter((part) => part !== undefined).join(': ')
  const whole = options.length === 0 ? asked : `${asked} (${options.join(' / ')})`
  return { value: id, label: readable(beginningOf(whole, QUESTION_LENGTH_MAX)) }
}

/** What a list of questions has room for. */
const QUESTION_LENGTH_MAX = 160

export const INITIATIVE_ACTIONS: readonly Action[] = [
  {
    label: 'Decide',
    explains: 'Every later assessment is given the decision.',
    needs: ['work.operate'],
    isOffered: inState('active'),
    path: initiative('decide'),
    fields: [
      { name: 'decision', label: 'The decision', type: 'long', isRequired: true },
      {
        name: 'question_id',
        label: 'Which of its questions this answers',
        type: 'choice',
        choicesOf: ({ questions = [] }) => questions.map(asChoice),
        none: 'All of them',
        initial: ({ questions = [] }) => (questions.length === 1 ? questions[0].id : ''),
      },
    ],
  },
  {
    label: 'Assess now',
    explains: 'Steering looks at its members now.',
    needs: ['work.operate'],
    isOffered: inState('active'),
    path: initiative('advance'),
  },
  {
    label: 'Complete',
    explains: 'Its outcome is reached, and it ends.',
    needs: ['work.operate'],
    isOffered: inState('active'),
    path: initiative('complete'),
    fields: [{ ...whyRequired, label: 'What shows that it is reached' }],
    isGrave: true,
  },
  {
    label: 'Cancel',
    explains: 'It ends. Its members go on without it.',
    needs: ['work.operate'],
    isOffered: inState('active'),
    path: initiative('cancel'),
    fields: [whyRequired],
    isGrave: true,
  },
]
