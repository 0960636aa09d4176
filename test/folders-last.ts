/**
 * Imported for what it does: a test's folder outlives what the test has started. Tap removes the folder of
 * `t.testdir()` before it calls what `t.teardown` was given, unless `t.teardown` was called first. A journal that is
 * still open then finds its files gone, and a view thread that is just starting puts a file into a folder that is being
 * removed, which fails the test (ENOTEMPTY) and leaves the journal open.
 */
import t from 'tap'

t.beforeEach((t) => t.teardown(() => {}))
