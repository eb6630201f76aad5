"""The distributed deployment: jobs and their decision requests on many machines, over Celery and Redis."""
