/** Sentinels: cron triggers that submit work, when they fall due, and what came of the last time. */
import type { JSX } from 'preact'
import { lastOf } from '../../machines/sentinel/last.ts'
import { SENTINEL_ACTIONS } from '../actions/sentinels.ts'
import type { Document } from '../document.ts'
import { Ref, State } from '../parts/basics.tsx'
import { shortOf, wordsOf } from '../words.ts'
import { age, at, byName, cell, eachState, type Kind, link, project, state, wide } from './kind.tsx'

function whenOf({ cron, time_zone }: Document): string {
  return `${cron} ${time_zone}`
}

/** The item of the last time and how that is or ended, or why there is none. */
function CameTo({ of: { skipped, item_id: item, item_state: now } }: { of: Document }): JSX.Element {
  return (
    <>
      {skipped !== undefined && `nothing: ${wordsOf(skipped)} `}
      {item !== undefined && (
        <Ref to={item}>
          <code>{shortOf(item)}</code>
        </Ref>
      )}{' '}
      {now !== undefined && <State of={now} />}
    </>
  )
}

export const sentinels: Kind = {
  one: 'Sentinel',
  many: 'Sentinels',
  list: () => 'api/sentinels',
  filters: eachState('active', 'paused', 'removed'),
  path: at('sentinels'),
  idOf: byName,
  titleOf: ({ item }) => item.objective,
  whyOf: (of) => `${whenOf(of)}; it ${lastOf(of)}`,
  columns: [
    link('Sentinel', byName, 'sentinel'),
    state(),
    project,
    cell('When', whenOf),
    age('Next', ({ next_at }) => next_at),
    age('Last', ({ last }) => last?.at),
    cell('Came to', ({ last }) => last && <CameTo of={last} />),
    wide('What', ({ item }) => item.objective),
  ],
  actions: SENTINEL_ACTIONS,
  history: ({ name }) => ({ sentinel: name }),
  without: ['name', 'state'],
}
