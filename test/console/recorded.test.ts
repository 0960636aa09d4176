import t from 'tap'
import { admits, withNewer } from '../../console/recorded.ts'

const event = {
  event_type: 'work_item_settled',
  project: 'shop',
  trace_id: 't1',
  payload: { item_id: 'wi_1', run_request_id: 'runreq_1', constructor: 'x' },
}

t.test('an event is admitted as Watch does it: by the envelope, and by four members of the payload', async (t) => {
  t.equal(admits({}, event), true)
  t.equal(admits({ project: undefined, event_type: '' }, event), true)
  t.equal(admits({ item_id: 'wi_1', project: 'shop' }, event), true)
  t.equal(admits({ event_type: 'work_item_held,work_item_settled' }, event), true)
  t.equal(admits({ event_type: 'work_item' }, event), false)
  t.equal(admits({ item_id: 'wi_1', project: 'bank' }, event), false)
  t.equal(admits({ run_request_id: 'runreq_1' }, event), false, 'the run on which it was stated counts')
  t.equal(admits({ session_id: 'x' }, event), false)
})

t.test('newer events come first; when there is no room the oldest go, and nothing older is joined to the rest', (t) => {
  const events = [{ id: 2 }, { id: 1 }]
  t.strictSame(withNewer({ events, next: 'c', room: 3 }, [{ id: 3 }]), {
    events: [{ id: 3 }, ...events],
    next: 'c',
    room: 3,
  })
  t.strictSame(withNewer({ events, next: 'c', room: 3 }, [{ id: 4 }, { id: 3 }]), {
    events: [{ id: 4 }, { id: 3 }, { id: 2 }],
    room: 3,
    isCut: true,
  })
  t.end()
})
