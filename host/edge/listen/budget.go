package listen

import "time"

// budget is the time that a client may still be waited for in one direction of one request. It grows with
// every byte at the minimum rate and shrinks while we wait; time that we spend elsewhere (a slow upstream,
// a filter) is not held against the client. It belongs to the goroutine that reads, or that writes.
type budget struct {
	moved  int64         // bytes of this request
	waited time.Duration // for them
}

// allowed is how long the next read or write may take; not positive once the client is too slow.
func (b *budget) allowed(o *Options) time.Duration {
	if o.MinRate <= 0 {
		return o.Idle
	}
	earned := time.Duration(float64(b.moved) / float64(o.MinRate) * float64(time.Second))
	return min(o.Idle, o.Idle+earned-b.waited)
}

func (b *budget) spend(n int, took time.Duration) {
	b.moved += int64(n)
	b.waited += took
}
