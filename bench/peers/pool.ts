/**
 * Connections to PostgreSQL: each is a process of its own there, so that past some number more of them only wait for
 * each other.
 */
const CONNECTIONS_MAX = 32

export function poolSize(clients: number): number {
  return Math.min(clients, CONNECTIONS_MAX)
}
