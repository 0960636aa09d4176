import t from 'tap'
import { eventLines } from '../../cli/event-line.ts'
import { age, COLOUR, cut, Printer, safe, wrapped } from '../../cli/print.ts'

function printed(
  env: Record<string, string>,
  terminal: { isTTY?: boolean; columns?: number },
  print: (printer: Printer) => void,
): string {
  let out = ''
  print(
    new Printer(
      {
        write: (text) => {
          out += text
        },
        ...terminal,
      },
      env,
    ),
  )
  return out
}

t.test('output is coloured on terminals only, and NO_COLOR wins', async (t) => {
  const state = (printer: Printer) => printer.line(printer.state('failed'))
  t.equal(printed({}, {}, state), 'failed\n')
  t.equal(printed({}, { isTTY: true }, state), '\u001b[31mfailed\u001b[0m\n')
  t.equal(printed({ NO_COLOR: '1' }, { isTTY: true }, state), 'failed\n')
  t.equal(printed({ TERM: 'dumb' }, { isTTY: true }, state), 'failed\n')
  t.equal(printed({ FORCE_COLOR: '1' }, {}, state), '\u001b[31mfailed\u001b[0m\n')
})

t.test('a truncated list says so, and which end was shown', async (t) => {
  const shown = printed({}, {}, (printer) => {
    printer.rest(50, true)
    printer.rest(20, true, 'latest')
    printer.rest(3, false)
  })
  t.equal(shown, '(the first 50; --limit shows more)\n(the latest 20; --limit shows more)\n')
})

t.test('identifiers in a row are never cut, even if they do not fit on one line', async (t) => {
  const row = ['runreq_997e99cc582b4c862a0bef35', 'queued', 'bank-of-the-north', 'y'.repeat(60)]
  const out = printed({ NO_COLOR: '1' }, { isTTY: true, columns: 40 }, (printer) =>
    printer.table(['A', 'B', 'C', 'D'], [row], ''),
  )
  t.equal(out, `A  B  C\n  D\n${row[0]}  queued\n  bank-of-the-north\n  ${'y'.repeat(37)}…\n`)
})

t.test('long text is wrapped between words with its indent, and loses none', async (t) => {
  const link = 'https://example.org/a-link-that-is-longer-than-the-terminal'
  t.same(wrapped('one two three', 40, '  '), ['one two three'])
  t.same(wrapped('one two three', 8, '  '), ['one two', '  three'])
  t.same(wrapped('  one two', 6, '    '), ['  one', '    two'])
  t.same(wrapped(`see ${link} there`, 20, '  '), ['see', `  ${link}`, '  there'])
  t.same(wrapped('\u001b[31mone\u001b[0m two', 7, ''), ['\u001b[31mone\u001b[0m two'], 'colours take no width')
  const shown = (printer: Printer) => {
    printer.fields([['why', 'one two three']])
    printer.tableInFull(['A', 'B'], [['x', `${'word '.repeat(9)}end`]], '')
  }
  const narrow = printed({ NO_COLOR: '1' }, { isTTY: true, columns: 40 }, shown)
  t.equal(narrow, `why  one two three\nA  B\nx  ${'word '.repeat(7).trim()}\n   word word end\n`)
  t.match(printed({}, {}, shown), `${'word '.repeat(9)}end\n`, 'not a terminal: never wrapped')
})

t.test('columns are aligned whatever their colours, and a narrow terminal cuts the last one', async (t) => {
  const rows = (printer: Printer) =>
    printer.table(
      ['A', 'B'],
      [
        [printer.state('failed'), 'x'.repeat(60)],
        ['ok', 'y'],
      ],
      'none',
    )
  const lines = printed({}, { isTTY: true, columns: 40 }, rows).split('\n')
  t.equal(lines[1]!.replace(COLOUR, ''), `failed  ${'x'.repeat(31)}…`)
  t.equal(lines[2], 'ok      y')
  t.equal(
    printed({}, {}, (printer) => printer.table(['A'], [], 'none')),
    'none\n',
  )
})

t.test('a last column with too little room gets a line of its own', async (t) => {
  const rows = (printer: Printer) =>
    printer.table(
      ['KEY', 'STATE', 'WHAT'],
      [
        ['shop.intent.sessions', printer.state('failed'), 'Sessions survive a restart, whatever else there is'],
        ['shop.intent.mails', 'ok', ''],
      ],
      'none',
    )
  t.same(printed({}, { isTTY: true, columns: 50 }, rows).replace(COLOUR, '').split('\n'), [
    'KEY  STATE',
    '  WHAT',
    'shop.intent.sessions  failed',
    '  Sessions survive a restart, whatever else there…',
    'shop.intent.mails  ok',
    '',
  ])
  t.notMatch(printed({}, {}, rows), / \n/, 'no line ends with blanks')
})

t.test('cutting counts visible characters and keeps colour codes', async (t) => {
  t.equal(cut('\u001b[31mabcdef\u001b[0m', 4), '\u001b[31mabc\u001b[0m…')
  t.equal(cut('abcd', 4), 'abcd')
})

t.test('an age is shown in a single unit', async (t) => {
  const now = Date.parse('2030-01-31T00:00:00Z')
  t.same(
    [
      '2030-01-30T23:59:18Z',
      '2030-01-30T23:53:00Z',
      '2030-01-30T21:00:00Z',
      '2030-01-01T00:00:00Z',
      '2031-01-01T00:00:00Z',
    ].map((at) => age(at, now)),
    ['42s', '7m', '3h', '30d', '0s'],
  )
})

t.test('an event line shows people by name and lists by comma, and leaves out empty values', async (t) => {
  const printer = new Printer({ write: () => {} }, {})
  const payload = {
    requested_by: { id: 'tok_1', name: 'ada', origin: 'desk' },
    labels: [],
    files: ['a', 'b'],
    brief: { id: 'brief_1', digest: 'd' },
    odd: ['a b'],
  }
  const event = { occurred_at: '2030-01-01T00:00:00Z', project: 'demo', event_type: 'seen', payload }
  t.match(
    eventLines(event, printer)[0],
    'demo  requested_by=ada files=a,b brief={"id":"brief_1","digest":"d"} odd=["a b"]',
  )
})

t.test('an event line shows decisions first, and leaves out prompts and results', async (t) => {
  const payload = {
    campaign: 'pay',
    prompt: 'You form',
    run_result: {},
    gate_results: [{}],
    decision: 'advance',
    objective: 'Send',
  }
  const event = {
    occurred_at: '2030-01-01T00:00:00Z',
    project: 'demo',
    event_type: 'campaign_advance_completed',
    payload,
  }
  t.match(
    eventLines(event, new Printer({ write: () => {} }, {}))[0],
    /demo {2}decision=advance objective=Send campaign=pay$/,
  )
})

t.test('an event line shows how it came out before anything that has parts of its own', async (t) => {
  const action = { action_id: 'act_1', objective: 'x'.repeat(400) }
  const payload = { action, eligible_members: [], provider: 'node', error: 'gone', outcome: 'stale', success: true }
  const event = { occurred_at: '2030-01-01T00:00:00Z', project: 'demo', event_type: 'initiative_steered', payload }
  t.match(
    eventLines(event, new Printer({ write: () => {} }, {}))[0],
    'demo  outcome=stale error=gone provider=node success=true action={"action_id":"act_1"',
  )
})

t.test('an event line shows its time in UTC, with the date if that is not today', async (t) => {
  const printer = new Printer({ write: () => {} }, {})
  const begins = (occurred_at: string) =>
    eventLines({ occurred_at, project: 'demo', event_type: 'seen', payload: {} }, printer)[0]!.split('  ')[0]
  t.equal(begins('2025-11-25T12:00:00.5+02:00'), '2025-11-25T10:00:00Z')
  const now = new Date().toISOString()
  t.equal(begins(now), `${now.slice(11, 19)}Z`)
  t.equal(begins('soon'), 'soon')
})

t.test('command output is shown line by line, other events with their payload', async (t) => {
  const printer = new Printer({ write: () => {} }, {})
  const base = { occurred_at: '2030-01-01T00:00:00Z', project: 'demo', run_request_id: 'runreq_1' }
  const output = eventLines(
    { ...base, event_type: 'run_output', payload: { stream: 'stdout', text: 'a\nb\u0007\n' } },
    printer,
  )
  t.same(output, ['2030-01-01T00:00:00Z  runreq_1 | a', '2030-01-01T00:00:00Z  runreq_1 | b'])
  const [line] = eventLines(
    { ...base, event_type: 'run_request_failed', payload: { id: 'x', message: 'no luck', state: 'failed' } },
    printer,
  )
  t.match(line, /run_request_failed\s+demo {2}runreq_1 {2}state=failed message="no luck"$/)
  t.equal(safe('a\u009b1mb'), 'a 1mb')
  const { run_request_id: _, ...strange } = base
  const [told] = eventLines({ ...strange, event_type: 'seen', payload: { item_id: 'wi\u001b[2J' } }, printer)
  t.match(told, /seen\s+demo {2}wi \[2J$/, 'control characters in ids are removed')
})

t.test('control characters are removed from tables, fields and lines, and kept in JSON', async (t) => {
  const strange = 'a\u001b[2J\u009b1m\u0007b\nc\u2028d\u202ee\tf'
  const shown = (printer: Printer) => {
    printer.table(['WHAT', 'STATE'], [[strange, printer.state('failed')]], '')
    printer.fields([['what', strange]])
    printer.line(strange)
    printer.json({ strange, kept: 'é中😀' })
    printer.jsonLine(strange)
  }
  for (const env of [{ NO_COLOR: '1' }, { FORCE_COLOR: '1' }]) {
    const out = printed(env, {}, shown)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
    t.notMatch(out.replace(COLOUR, ''), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u202e]/)
    const lines = out.split('\n')
    t.match(lines[1], /^a \[2J 1m b c d e\tf\s+\S*failed/)
    t.match(lines[2], /a \[2J 1m b c d e\tf$/, 'a field is one line')
    t.same(lines.slice(3, 5), ['a [2J 1m b', 'c d e\tf'], 'a text keeps its own lines')
    t.strictSame(JSON.parse(lines.slice(5, 9).join('\n')), { strange, kept: 'é中😀' })
    t.strictSame(JSON.parse(lines[9]!), strange)
  }
})
