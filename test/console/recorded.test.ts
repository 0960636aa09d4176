import t from 'tap'
import { withNewer } from '../../console/recorded.ts'

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
