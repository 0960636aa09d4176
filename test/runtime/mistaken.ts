/** A runtime that makes its users meet programming errors, injected because there should be none. */
import type { ActorRef, CommitListener, Runtime, SnapshotOf } from '../../runtime/api.ts'

export interface Mistakes {
  /** Whether telling the actor this throws. */
  failsAt(ref: ActorRef, message: { readonly type: string }): boolean
  /** What users see of an entity, at start and with each commit. */
  shown(snapshot: SnapshotOf<any>): SnapshotOf<any>
}

export function mistaken(runtime: Runtime, mistakes: Mistakes): Runtime {
  function* scan(...[kind, index, value]: Parameters<Runtime['scan']>) {
    for (const { ref, snapshot } of runtime.scan(kind, index, value)) yield { ref, snapshot: mistakes.shown(snapshot) }
  }
  const onCommit = (listener: CommitListener): void =>
    runtime.onCommit((steps, events, commit) => {
      const shown = steps.map((step) => ({ ...step, after: mistakes.shown(step.after) }))
      listener(shown, events, commit)
    })
  const ask = (...[ref, message, reply]: Parameters<Runtime['ask']>): void => {
    if (mistakes.failsAt(ref, message)) throw new TypeError('a mistake')
    runtime.ask(ref, message, reply)
  }
  return Object.create(runtime, { scan: { value: scan }, onCommit: { value: onCommit }, ask: { value: ask } })
}
