/** Names of the branches on which runs keep their work. */

/** The branch of one attempt alone. */
export function branchOf(requestId: string, attempt: number): string {
  return `intendant/${requestId}-${attempt}`
}
