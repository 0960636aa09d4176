/** What is sent for the work of a settled item once more, by the command line and by the console. */
import t from 'tap'
import { OPEN_STATES, TERMINAL_STATES } from '../../../machines/documents/work-item.ts'
import { anew } from '../../../machines/work-item/anew.ts'

const old = (state: string) => ({ id: 'wi_old', project: 'shop', kind: 'task', lane: 'interactive', state })

t.test('an item that still owes something is closed with the id of the new one, any other is not', (t) => {
  for (const state of OPEN_STATES) {
    for (const [as, closed] of [
      ['retry', 'repeated'],
      ['answer', 'answered'],
    ] as const) {
      const { closing } = anew(old(state), as, 'Tidy up')
      const sent = { path: '/api/work-items/wi_old/close', body: { reason: `${closed} as wi_new` } }
      t.same(closing?.('wi_new'), sent, `${as} ${state}`)
    }
  }
  for (const state of TERMINAL_STATES) t.equal(anew(old(state), 'retry', 'Tidy up').closing, undefined, state)
  t.end()
})
