/**
 * When all is quiet, no campaign is left forming or working: with owners that answer what they are asked, each ends. No
 * initiative waits for an assessment that nobody makes.
 */
import { OVER } from '../model/owners.ts'
import type { MakeInvariant } from './invariant.ts'

export const ownersComeToRest: MakeInvariant = (world) => ({
  name: 'owners come to rest',
  owed() {
    for (const { kind, name, status, items } of world.owners.byName.values()) {
      const last = items.at(-1)
      const what = `${kind} ${name} is ${status}, its last ${last?.role} ${last?.id} is ${last?.state}`
      if (kind === 'campaign') {
        if (!OVER.has(status)) return what
        continue
      }
      const snapshot = world.process!.runtime.read({ kind, id: name })
      const waiting = snapshot?.context.waiting.length
      if (waiting > 0 || snapshot?.context.assessment !== undefined) return `${what}; ${waiting} requests wait`
    }
    return undefined
  },
})
