/** `intendant completion`: the script by which a shell completes command lines, made from the program's own commands. */
import { Argument, type Command, type Option } from 'commander'
import { bashScript, fishScript, type Place, zshScript } from './completion-scripts.ts'
import type { Act } from './world.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

const HELP = `
Examples:
  source <(intendant completion bash)               in ~/.bashrc
  intendant completion zsh >"\${fpath[1]}/_intendant"
  intendant completion fish >~/.config/fish/completions/intendant.fish`

export function addCompletion(program: Command, act: Act): void {
  program
    .command('completion')
    .description('Print a shell script that completes commands, options and their values.')
    .addArgument(new Argument('<shell>', 'The shell.').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', HELP)
    .action(
      act(async ({ json, print, world }, [shell]) => {
        const script = SCRIPTS[shell as keyof typeof SCRIPTS](placesOf(program))
        if (json) print.json({ shell, script })
        else world.stdout.write(script)
      }),
    )
}

/** The command and all below it, each with what may follow there. */
function placesOf(command: Command, path: Place['path'] = []): Place[] {
  const help = command.createHelp()
  const below = help.visibleCommands(command)
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
  const place = {
    path,
    commands: below.map((one) => ({ names: namesOf(one), description: one.description() })),
    options: options.map(optionOf),
    operands: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  }
  return [place, ...below.flatMap((one) => placesOf(one, [...path, namesOf(one)]))]
}

function namesOf(command: Command): readonly string[] {
  return [command.name(), ...command.aliases()]
}

function optionOf({ short, long, description, required, optional, argChoices = [] }: Option): Place['options'][number] {
  const flags = [short, long].filter((flag) => flag !== undefined)
  return { flags, description, takesValue: required || optional, values: argChoices }
}
