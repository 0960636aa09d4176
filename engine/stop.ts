/** Why a run is ended from outside. */
import type { Cancel } from './run-posts.ts'

export type Stop =
  | { readonly why: 'cancelled'; readonly cancel: Cancel }
  | { readonly why: 'runner_stopped' }
  | { readonly why: 'abandoned'; readonly error: unknown }

/** Why the posts of a stopped run are given up. */
export class Unreported extends Error {
  override readonly message = 'the service has not accepted the final post of the run'
}
