/** A box whose content may be larger than it: then the keyboard reaches it, and scrolls it with the arrow keys. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

interface Props {
  readonly class: string
  /** What is in it, for those who hear the page. */
  readonly label: string
  /** Its element, for who scrolls it. */
  readonly box?: { current: HTMLDivElement | null }
  readonly onScroll?: (event: { readonly currentTarget: HTMLDivElement }) => void
  readonly children: ComponentChildren
}

/** Browsers do so by themselves only in part: Safari never. A box that cannot be scrolled is no stop on the way. */
export function Scroller({ class: name, label, box, onScroll, children }: Props): JSX.Element {
  const own = useRef<HTMLDivElement>(null)
  const ref = box ?? own
  const [isLarger, setLarger] = useState(false)
  const measure = (): void => {
    const element = ref.current
    if (element === null) return
    setLarger(element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight)
  }
  // Whatever is drawn in it may change its size; the window is that of all boxes.
  useEffect(measure)
  useEffect(() => {
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  return (
    <div
      class={name}
      ref={ref}
      onScroll={onScroll}
      {...(isLarger ? { role: 'region', tabIndex: 0, 'aria-label': label } : {})}
    >
      {children}
    </div>
  )
}
