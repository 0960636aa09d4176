/** Whatever starts without checking anything starts without the library that checks. */
import { createRequire } from 'node:module'
import t from 'tap'
import { validatePayload } from '../../machines/events/index.ts'
import { compile, Type } from '../../machines/schema.ts'

const { cache } = createRequire(import.meta.url)
const libraryFiles = () => Object.keys(cache).filter((file) => file.includes('/node_modules/ajv'))

t.test('ajv is loaded by the first check, not by those who only know the schemas', async (t) => {
  const check = compile(Type.Object({ name: Type.String() }, { additionalProperties: false }))
  t.ok(validatePayload, 'the catalogue of events is loaded')
  t.strictSame(libraryFiles(), [])
  t.strictSame(check({ name: 'Ada' }), [])
  t.ok(libraryFiles().length > 0, 'the check needs it')
  t.equal(check({ name: 7 })[0]!.pointer, '/name')
})
