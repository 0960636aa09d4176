/** How `verify` and `restore` report what was found in a home or a backup. */
import { FINDING_CODES } from '../storage/verify/finding-codes.ts'
import type { VerifyReport } from '../storage/verify/findings.ts'
import { safe } from './print.ts'
import type { Cli } from './world.ts'

const FINDINGS_SHOWN = 50

export function printVerified({ json, print }: Pick<Cli, 'json' | 'print'>, home: string, report: VerifyReport): void {
  const { findings, findingsCount, events, entities } = report
  if (json) {
    print.json({ home, events, entities, findings_count: findingsCount, findings })
    return
  }
  const rows = findings.slice(0, FINDINGS_SHOWN).map(({ code, where, detail }) => [code, safe(where), safe(detail)])
  if (rows.length > 0) print.tableInFull(['PROBLEM', 'WHERE', 'WHAT'], rows, '')
  for (const code of new Set(findings.map((finding) => finding.code))) print.line(`${code}: ${FINDING_CODES[code]}.`)
  const verdict = findingsCount === 0 ? 'no problems found' : `${findingsCount} problem(s) found`
  print.line(`${home}: ${events} events, ${entities} entities, ${verdict}.`)
}
