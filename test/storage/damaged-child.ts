/** Verifies the homes named on the command line through LMDB, one after another; prints the one that it is at. */
import { writeSync } from 'node:fs'
import { openEnvironments } from '../../storage/home/home-environments.ts'
import { verify } from '../../storage/verify/verify.ts'

for (const home of process.argv.slice(2)) {
  writeSync(1, `${home}\n`)
  try {
    const environments = await openEnvironments(home, () => {}, { readOnly: true })
    await verify(environments)
    await environments.close()
  } catch {
    // It may say no; it may not die.
  }
}
writeSync(1, 'done\n')
