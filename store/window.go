package store

import "time"

// fixedWindow counts charges in a window that begins with the first charge that is counted, and is over
// Window later. Then the next charge begins another.
func fixedWindow(row Row, c Charge, now time.Duration) (Row, Verdict) {
	current := row
	if now >= current.End {
		current = Row{}
	}
	allowed := c.Reserved || c.Cost <= c.Limit-current.Used
	if allowed {
		if current.End == 0 {
			current.Start, current.End = now, now+c.Window
		}
		current.Used += c.Cost
	}
	v := Verdict{
		Allowed:    allowed,
		Used:       current.Used,
		Limit:      c.Limit,
		Remaining:  max(0, c.Limit-current.Used),
		ResetAfter: max(0, current.End-now),
	}
	if allowed {
		return current, v
	}
	v.RetryAfter = v.ResetAfter
	if c.Cost > c.Limit {
		v.RetryAfter = -1
	}
	return row, v
}
