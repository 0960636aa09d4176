/** The command line as it is shipped. */
import { fileURLToPath } from 'node:url'

export const BINARY = fileURLToPath(new URL('../bin/main.js', import.meta.url))
