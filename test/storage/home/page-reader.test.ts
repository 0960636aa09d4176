import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PageReader } from '../../../storage/home/page-reader.ts'

const PAGE = 4096
const PAGES = 200
const ALWAYS_MS = -1
const NEVER_MS = Number.POSITIVE_INFINITY

function fileOf(t: Test): string {
  const path = join(t.testdir(), 'pages')
  writeFileSync(path, Buffer.concat(Array.from({ length: PAGES }, (_, page) => Buffer.alloc(PAGE, page))))
  return path
}

function readFirst(reader: PageReader): void {
  reader.read(0, Buffer.alloc(PAGE))
}

t.test('a page is read correctly while others are read ahead, and reading past the end returns false', async (t) => {
  const reader = new PageReader(fileOf(t), ALWAYS_MS)
  const bytes = Buffer.alloc(PAGE)
  t.equal(reader.size, PAGES * PAGE)
  for (let page = 0; page < PAGES; page += 1) {
    for (let next = page; next < page + 50; next += 1) reader.soon(next * PAGE, PAGE)
    t.equal(reader.read(page * PAGE, bytes), true)
    t.ok(bytes.equals(Buffer.alloc(PAGE, page)))
  }
  t.equal(reader.read(PAGES * PAGE - 1, bytes), false)
  await reader.close()
})

t.test('pages are read ahead only on a disk that makes reads wait', async (t) => {
  const quick = new PageReader(fileOf(t), NEVER_MS)
  readFirst(quick)
  quick.soon(PAGE, PAGE)
  t.equal(quick.ahead, 0)
  await quick.close()
  const slow = new PageReader(fileOf(t), ALWAYS_MS)
  slow.soon(PAGE, PAGE)
  t.equal(slow.ahead, 0, 'nothing was read yet')
  readFirst(slow)
  slow.soon(PAGE, PAGE)
  t.equal(slow.ahead, 1)
  await slow.close()
})

t.test('close waits for reads under way, and reads after it fail', async (t) => {
  const reader = new PageReader(fileOf(t), ALWAYS_MS)
  readFirst(reader)
  for (let page = 0; page < PAGES; page += 1) reader.soon(page * PAGE, PAGE)
  t.equal(reader.ahead, PAGES)
  await reader.close()
  t.equal(reader.ahead, 0)
  t.throws(() => readFirst(reader), { code: 'EBADF' })
})
