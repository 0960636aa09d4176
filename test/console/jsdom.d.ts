/** What the tests use of jsdom, which brings no types of its own. Its window is that of a browser. */
declare module 'jsdom' {
  export class JSDOM {
    static fromURL(url: string, options: object): Promise<JSDOM>
    readonly window: any
  }
  export class VirtualConsole {
    on(event: string, listener: (error: Error) => void): this
  }
}
