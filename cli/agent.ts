/** `intendant agent`: a runner's command that has a coding agent do the work. */
import type { Command } from 'commander'
import { VARIABLES } from '../engine/agent/settings.ts'
import { inputText } from './input-file.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
Environment:
${VARIABLES.map(variableHelp).join('\n')}

A runner starts it (--exec) for each run, with the Execution Request on standard input. Whatever the
outcome, the agent's changes are committed to the branch intendant/REQUEST-ATTEMPT. If LAND has moved on,
it is merged in and GATE runs again. It needs git, but neither a token nor the service.

Examples:
  export REPOSITORY=/srv/shop GATE='npm ci && npm test' PUSH=origin LAND=main
  AGENT='claude -p --permission-mode acceptEdits' intendant runner --id desk --exec 'intendant agent'
  AGENT='codex exec --sandbox workspace-write -' intendant runner --id desk --exec 'intendant agent'

Exit codes: 0, the run did its part; 1, it failed, could not begin or was stopped. The outcomes are
described in docs/RUNNERS.md.`

export function addAgent(program: Command, act: Act): void {
  program
    .command('agent')
    .description('Do one run with a coding agent in its own git worktree, as the command of a runner.')
    .addHelpText('after', HELP)
    .action(act(runAgentCommand))
}

function variableHelp(variable: (typeof VARIABLES)[number]): string {
  const byDefault = 'byDefault' in variable ? `Default: ${variable.byDefault}` : 'It must be set'
  const lines = [`${variable.help}.`, `${variable.shape}. ${byDefault}.`]
  return lines.map((line, i) => `  ${(i === 0 ? variable.name : '').padEnd(13)}${line}`).join('\n')
}

async function runAgentCommand({ world }: Cli): Promise<number> {
  // Imported here because no other command uses it.
  const { runAgent } = await import('../engine/agent/agent.ts')
  return await runAgent({
    environment: world.env,
    readInput: () => inputText('-'),
    stdout: process.stdout,
    stderr: process.stderr,
    outlive: world.outlive,
  })
}
