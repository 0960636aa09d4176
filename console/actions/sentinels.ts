/** What can be done about sentinels, which submit work by the clock. */
import { LANES } from '../../machines/run-request/lanes.ts'
import { RECURRING_KINDS } from '../../machines/sentinel/kinds.ts'
import type { Document } from '../document.ts'
import { type Action, type Field, inState, project } from './action.ts'

const path = (of: Document): string => `api/sentinels/${encodeURIComponent(of.name)}`
const move = (name: string) => (of: Document) => `${path(of)}/${name}`
const opensSentinel = ({ name }: Document): readonly string[] => ['sentinels', name]
const inUse = inState('active', 'paused')

const objective: Field = {
  ...{ name: 'objective', label: 'What is to be done', type: 'long', isRequired: true },
  initial: ({ item }) => item?.objective ?? '',
}

const when: readonly Field[] = [
  {
    ...{ name: 'cron', label: 'When', type: 'text', isRequired: true },
    hint: 'Minute, hour, day of the month, month, day of the week: 30 2 * * 1-5 is half past two, Monday to Friday.',
    initial: ({ cron }) => cron ?? '',
  },
  {
    ...{ name: 'time_zone', label: 'Time zone', type: 'text', isRequired: true },
    hint: 'Such as Europe/Berlin.',
    initial: ({ time_zone }) => time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  },
]

export const NEW_SENTINEL: Action = {
  label: 'New sentinel',
  explains: 'Each time that it falls due, it submits a work item in the name of this token.',
  needs: ['work.submit'],
  isOffered: () => true,
  path: () => 'api/sentinels',
  fields: [
    {
      ...{ name: 'name', label: 'Name', type: 'text', isRequired: true },
      hint: 'Lower-case letters, digits, - and _.',
    },
    project,
    objective,
    ...when,
    { name: 'kind', label: 'Kind', type: 'choice', choices: RECURRING_KINDS, initial: () => 'task' },
    { name: 'lane', label: 'Lane', type: 'choice', choices: LANES, initial: () => 'maintenance' },
  ],
  body: ({ name, project, cron, time_zone, ...item }) => ({ name, project, cron, time_zone, item }),
  opens: opensSentinel,
}

export const SENTINEL_ACTIONS: readonly Action[] = [
  {
    label: 'Fire now',
    explains: 'Its item is submitted now, whatever the time; but not if an unsettled item asks for the same.',
    needs: ['work.operate'],
    isOffered: inUse,
    path: move('fire'),
    opens: opensSentinel,
  },
  {
    label: 'Pause',
    explains: 'It no longer falls due. Items that it has submitted stay.',
    needs: ['work.operate'],
    isOffered: inState('active'),
    path: move('pause'),
  },
  {
    label: 'Resume',
    explains: 'It falls due again, from the next time that its pattern matches.',
    needs: ['work.operate'],
    isOffered: inState('paused'),
    path: move('resume'),
  },
  {
    label: 'Edit',
    explains: 'From then on its items are submitted in the name of this token.',
    needs: ['work.submit'],
    isOffered: inUse,
    method: 'PATCH',
    path,
    fields: [objective, ...when],
    // The service replaces the item as a whole, and here its other members are not shown.
    body: ({ objective: said, ...at }, { item }) =>
      said === item?.objective ? at : { ...at, item: { ...item, objective: said } },
  },
  {
    label: 'Remove',
    explains: 'It never falls due again. It stays readable, and its name may be used again.',
    needs: ['work.operate'],
    isOffered: inUse,
    path: move('remove'),
    isGrave: true,
  },
]
