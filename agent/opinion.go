package agent

// askWhy asks whoever thinks badly of an answer what was wrong with it: once, and
// not when a form does.
func (d *decision) askWhy() Action {
	for _, t := range d.s.Turns {
		for _, o := range t.Opinions {
			key := "why/" + t.Name + "/" + string(o.By.ID)
			if !o.Good && !o.Asked && o.Text == "" && !d.s.Has(key) {
				return AskWhy{To: o.By, On: o.On, Key: key}
			}
		}
	}
	return nil
}
