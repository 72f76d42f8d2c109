package recording

// Waiting returns how many changes of trails wait for another one to be written.
func (r *Recorder) Waiting() int { return r.changes.Waiting() }
