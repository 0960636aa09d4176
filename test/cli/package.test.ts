/** What `npm pack` ships is complete: it runs with nothing but the libraries of an installation. */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { ENV } from './processes.ts'

interface Packed {
  readonly files: readonly { readonly path: string }[]
}

const root = process.cwd()

/** The files of a package made from this folder. */
function packed(): Packed {
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  // npm before 11 prints a list, later versions an object by package name.
  const [one] = Object.values<Packed>(JSON.parse(told))
  return one!
}

/** A folder like an installation: the shipped files and the libraries of the lockfile that are not for development. */
function installed(test: Test, files: Packed['files']): string {
  const folder = join(test.testdir(), 'node_modules', 'intendant')
  for (const { path } of files) cpSync(join(root, path), join(folder, path))
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, { dev, devOptional }] of Object.entries<{ dev?: true; devOptional?: true }>(packages)) {
    if (path === '' || dev === true || devOptional === true || !existsSync(join(root, path))) continue
    if (path.lastIndexOf('node_modules/') > 0) continue
    const to = join(dirname(folder), path.slice('node_modules/'.length))
    mkdirSync(dirname(to), { recursive: true })
    symlinkSync(join(root, path), to)
  }
  return folder
}

t.test('the packed files run a service and a command line that reaches it', async (t) => {
  const { files } = packed()
  const folder = installed(t, files)
  const { bin, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const main = join(folder, bin.intendant)
  const home = join(t.testdirName, 'home')
  t.match(execFileSync(process.execPath, [main, '--version'], { env: ENV, encoding: 'utf8' }), version)

  const service = spawn(process.execPath, [main, 'serve', '--home', home, '--port', '0'], {
    env: ENV,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => service.on('exit', resolve))
  t.teardown(() => service.kill('SIGKILL'))
  const [line] = await new Promise<string[]>((resolve) =>
    service.stdout.on('data', (chunk) => resolve(String(chunk).split('\n'))),
  )
  const { listening } = JSON.parse(line!)
  const env = { ...ENV, ENGINE_HOME: home, ENGINE_URL: listening }
  execFileSync(process.execPath, [main, 'project', 'add', '--key', 'shop', '--name', 'Shop'], { env })
  t.match(execFileSync(process.execPath, [main, 'project', 'list'], { env, encoding: 'utf8' }), 'shop')
  for (const path of ['/', '/console/main.js', '/console/main.css'])
    t.equal((await fetch(listening + path)).status, 200, path)
  service.kill('SIGTERM')
  t.equal(await ended, 0)
})
