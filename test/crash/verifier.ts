/**
 * Runs `intendant verify` for damages.ts, one home after the other. Its process is not that of the test, because what is
 * damaged may end it by a signal, and not a new one each time, because most of such a process is its start.
 */
import { cli } from '../cli/in-process.ts'

process.on('message', async (home: string) => {
  const { code } = await cli({ ENGINE_HOME: home }, 'verify')
  process.send!(code)
})
process.on('disconnect', () => process.exit())
