/** The run fails before anything was done, for a reason that whoever looks after the runner can mend. */
export class Refused extends Error {
  override readonly name = 'Refused'
  /** A word for the cause: the code of the run's failure, whose class is `dispatch`. */
  readonly code: string

  /** @param message one line for whoever looks after the runner. */
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
