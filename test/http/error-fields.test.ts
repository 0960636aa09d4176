import t from 'tap'
import { errorFields } from '../../http/error-fields.ts'

const message = (error: Error): string => (errorFields(error) as { message: string }).message

t.test('a log line says each cause once, whether or not the outer message repeats it', async (t) => {
  const full = new Error('ENOSPC: no space left')
  t.equal(message(full), 'ENOSPC: no space left')
  t.equal(
    message(new Error('the log cannot be written', { cause: full })),
    `the log cannot be written: ${full.message}`,
  )
  const repeated = new Error(`the log cannot be written: ${full.message}`, { cause: full })
  t.equal(message(repeated), 'the log cannot be written: ENOSPC: no space left')
  t.equal(
    message(new Error(`commit failed (${repeated.message})`, { cause: repeated })),
    'commit failed (the log cannot be written: ENOSPC: no space left)',
  )
  const deep = new Error('commit failed: the view', { cause: new Error('the view', { cause: full }) })
  t.equal(message(deep), 'commit failed: the view: ENOSPC: no space left')
  t.match(errorFields(Object.assign(repeated, { code: 'x' })), { type: 'Error', code: 'x', stack: /caused by/ })
})
