// Search of pages opened from a file: browsers start no worker there, so a hidden frame does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc =
        `<script>let postMessage = data => parent.postMessage(data, "*")</script>` +
        `<script src="${address}"></script>`
      this.frame.onload = () => {
        this.waiting.forEach(data => this.frame.contentWindow.postMessage(data, "*"))
        this.waiting = null
      }
      window.addEventListener("message", event => {
        if (event.source === this.frame.contentWindow)
          this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      })
      document.body ? this.attach() : addEventListener("DOMContentLoaded", () => this.attach())
    }

    attach() {
      document.body.append(this.frame)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.frame.contentWindow.postMessage(data, "*")
    }
  }
}
