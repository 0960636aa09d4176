/** The run fails before any work was done, for a reason that the runner's operator can fix. */
export class Refused extends Error {
  override readonly name = 'Refused'
  /** The code of the run's failure, whose class is `dispatch`. */
  readonly code: string

  /**
   * @param message one line for the runner's operator
   */
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
