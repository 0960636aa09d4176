/** Ids and times that the examples share. */
export const AT = '2026-01-31T12:00:00.000000Z'
export const BY = { id: 'tok_5f0c1d2e3a4b5c6d7e8f9a0b', name: 'ada' }
export const PROJECT_ID = 'proj_0f1e2d3c4b5a69788796a5b4'
export const REQUEST_ID = 'runreq_a1b2c3d4e5f60718293a4b5c'
export const ITEM_ID = 'wi_0a1b2c3d4e5f60718293a4b5'
export const RUN_ID = 'run_112233445566778899aabbcc'
export const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
export const SPAN_ID = '00f067aa0ba902b7'
export const EVENT_ID = 'evt_4a1e0f5a6b7c8d9e0f1a2b3c4d5e6f70'
export const CURSOR = 'k3x9q2m4v7a1.2f'
export const BRIEF_ID = 'brief_99aabbccddeeff0011223344'
export const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`
