/**
 * What a refusal calls the moves that the state allows (`allowed`): a client knows them by their paths, not by the
 * messages of the machines.
 */

/** By message, the last fixed part of the path, where that is another word. */
export const MOVE_PATHS: Readonly<Record<string, string>> = {
  compile: 'compile-prompts',
  edit_prompt: 'prompts',
  end_session: 'session',
  evidence: 'evidence-observations',
  record_finding: 'findings',
  record_owner_action: 'owner-actions',
  relate: 'relationships',
  rotate_credential: 'token',
  set_charter: 'charter',
  trace_summary: 'trace-summary',
  unrelate: 'relationships',
}

/** Sorted, each once. */
export function publicMoves(messages: readonly string[]): readonly string[] {
  return [...new Set(messages.map((type) => MOVE_PATHS[type] ?? type))].sort()
}
