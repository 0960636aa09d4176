import { spawn } from 'node:child_process'
import t from 'tap'
import { cpuMs, kernelTells, parseStat, tree } from '../../bench/processes.ts'

t.test('a process is parsed from its stat line, whatever its name contains', async (t) => {
  const times = '7 3 20 10'
  const line = `4242 (beam) smp (x) S 17 4242 4242 0 -1 4194560 100 200 0 0 ${times} 20 0 1 0 12345 1000`
  t.same(parseStat(line), { pid: 4242, parent: 17, name: 'beam) smp (x', ticks: 10, endedTicks: 30 })
})

t.test(
  'a process tree includes children, and its CPU time includes ended ones',
  { skip: !kernelTells() },
  async (t) => {
    const spin = 'while (process.cpuUsage().user < 200_000);'
    const parent = spawn('sh', ['-c', `"${process.execPath}" -e "${spin}"; sleep 60`], { stdio: 'ignore' })
    t.teardown(() => tree(parent.pid!).forEach(({ pid }) => void process.kill(pid, 'SIGKILL')))
    while (!tree(parent.pid!).some(({ name }) => name === 'sleep'))
      await new Promise((resolve) => setTimeout(resolve, 10))
    t.same(
      tree(parent.pid!).map(({ name }) => name),
      ['sh', 'sleep'],
    )
    t.ok(cpuMs(parent.pid!) > 50, 'the child that has ended is counted')
    t.same(tree(2 ** 30), [])
  },
)
