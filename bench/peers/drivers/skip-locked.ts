/** A hand-made queue in PostgreSQL: one table, one partial index, prepared statements, SKIP LOCKED. */
import { Pool } from 'pg'
import type { Open } from '../driver.ts'

/** Each is a server process of its own; beyond this number they only wait for each other. */
const CONNECTIONS_MAX = 32

const MAKE = `
  CREATE TABLE IF NOT EXISTS jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state smallint NOT NULL DEFAULT 0, payload jsonb NOT NULL);
  CREATE INDEX IF NOT EXISTS jobs_waiting ON jobs (id) WHERE state = 0;`

const CREATE = { name: 'create', text: 'INSERT INTO jobs (payload) VALUES ($1)' }
const TAKE = {
  name: 'take',
  text: `UPDATE jobs SET state = 1 WHERE id =
    (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, payload`,
}
const COMPLETE = { name: 'complete', text: 'DELETE FROM jobs WHERE id = $1 AND state = 1' }

export const skipLocked: Open = async (address, clients) => {
  const { host, port, user, database } = address as Record<string, any>
  const pool = new Pool({ host, port, user, database, max: Math.min(clients, CONNECTIONS_MAX) })
  await pool.query(MAKE)
  return {
    cycle: async (_client, job) => {
      await pool.query({ ...CREATE, values: [JSON.stringify(job)] })
      let taken = await pool.query({ ...TAKE, values: [] })
      while (taken.rowCount === 0) taken = await pool.query({ ...TAKE, values: [] })
      await pool.query({ ...COMPLETE, values: [taken.rows[0].id] })
    },
    close: () => pool.end(),
  }
}
