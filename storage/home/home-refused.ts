/** Why a home is not opened. Found before anything in it is changed; the message says what to do. */
type HomeRefusal =
  | 'locked'
  | 'schema_version'
  | 'view_of_another_log'
  | 'view_ahead'
  | 'redo_missing'
  | 'log_missing'
  | 'corrupt'
  | 'disk_reserve'
  | 'disk_failed'
  | 'not_permitted'
  | 'not_empty'
  | 'restore_unfinished'
  | 'another_log'

export class HomeRefused extends Error {
  override readonly name = 'HomeRefused'
  readonly code: HomeRefusal

  constructor(code: HomeRefusal, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
