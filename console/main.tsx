/** Starts the console in the page that the service answers at `/`. */
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('console')!)
