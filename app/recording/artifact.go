package recording

import (
	"context"

	"attestry/evidence"
)

// Report records an artifact, and begins its flow and trail if need be. It completes the record from its trail. The
// record gets a later time than everything in its trail, and than all artifacts of its fingerprint and of its flow.
func (r *Recorder) Report(ctx context.Context, scope Scope, reported evidence.ArtifactRecord, repo *evidence.Repo) error {
	at := recordingTime{now: reported.CreatedAt}
	return r.changeOpened(ctx, scope, &at, func(ctx context.Context, u *trailUpdate) error {
		record, trail := reported, &u.trail.Value
		if err := trail.Admits([]string{record.Name}, ""); err != nil {
			return err
		}
		record.Flow, record.Template = trail.Flow, trail.Template
		in, err := r.loadArtifact(ctx, u, &record)
		if err != nil {
			return err
		}
		record.CreatedAt = at.choose(u, in.times)
		u.applyArtifact(in, &record, repo)
		return nil
	})
}
