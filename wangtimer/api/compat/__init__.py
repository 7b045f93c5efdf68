"""The seed's and xTimer's paths, as they were: ids in bodies, answers in an envelope, numbers for statuses."""
