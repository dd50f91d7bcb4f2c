package agent

import (
	"fmt"
	"strings"
)

// which says what there is to choose from, to somebody whose word named none of it.
func (d *decision) which() string {
	open := d.s.StandingCards()
	if len(open) == 0 {
		return textNoneWaits
	}
	var list []string
	for _, c := range open {
		list = append(list, fmt.Sprintf("%d %s", c.Asked.Number, c.Tool))
	}
	return fmt.Sprintf("These approvals wait: %s. Answer with the number, as in `y %d`.", strings.Join(list, ", "), open[0].Asked.Number)
}
